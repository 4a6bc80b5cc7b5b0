"""``python -m rackline`` does what the command ``rackline`` does."""

from rackline import main

if __name__ == "__main__":
    main()
