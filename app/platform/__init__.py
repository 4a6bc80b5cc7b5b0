"""What every feature stands on: store, web kit, sessions, words, charts, the catalogue as documents."""
