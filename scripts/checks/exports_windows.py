#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requires that a DLL exports the functions in the ELF version script, and nothing else.

    exports_windows.py OBJDUMP DLL VERSION_SCRIPT
"""
import re
import subprocess
import sys

objdump, dll, script = sys.argv[1:]
text = subprocess.run([objdump, "-p", dll], check=True, capture_output=True, text=True).stdout
table = text.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
exported = set(re.findall(r"^\s*\[\s*\d+\].*\s(\S+)$", table, re.M))
with open(script, encoding="utf-8") as file:
    named = set(re.findall(r"\binlay_\w+(?=;)", file.read()))
for difference in sorted(named ^ exported):
    print("FAILED:", difference, "is not exported" if difference in named else "is exported, but no public function")
print(f"exports: {len(exported)} of the DLL, {len(named)} of {script.rpartition('/')[2]}")
sys.exit(not named or named != exported)
