"""`python -m tacit`: the same as the command `tacit`."""

from tacit.cli import main

if __name__ == "__main__":
    main()
