"""``python -m gradwhy``."""

from gradwhy.cli.main import main

if __name__ == "__main__":
    main()
