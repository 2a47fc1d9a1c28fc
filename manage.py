#!/usr/bin/env python
"""Every command of Millrace; `./millrace` sets the environment up and calls this file."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
