"""Speed and memory of tacit as ratios, measured in the same run as what they are compared with."""
