"""`python -m ragctx`."""

from ragctx.cli import main

if __name__ == "__main__":
    main()
