"""placeholder"""
def write(report, look):
    return "\n".join(f"{f.cause} {f.at.line}" for f in report.findings)
