"""Networks built by Mininet-WiFi, and Mininet's command line on ours."""
