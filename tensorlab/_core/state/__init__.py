"""What a thread or the process has set and all else asks for: grad modes, the default device, settings, warnings."""
