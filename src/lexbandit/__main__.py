"""`python -m lexbandit`: the command `lexbandit`, where it is not on the path."""

from lexbandit.cli import main

if __name__ == "__main__":
    main()
