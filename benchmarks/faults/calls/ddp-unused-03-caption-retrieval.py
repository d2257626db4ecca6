# not applicable: two processes train together, and the loss gathers from both
