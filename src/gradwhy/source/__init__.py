"""Program text: reading it, finding one's way in it, showing and editing it. Nothing here runs it."""
