"""The dashboard: pages and the figures they show; everything comes from this process."""
