"""People: accounts, invitations, sign-in, second factor, single sign-on."""
