"""Programs that tests run inside a sandbox: they try to get out and say what succeeded.

Each needs the standard library alone and is handed to the interpreter as text. It prints one line
`escaped NAME` for every attempt that succeeded, then `tried COUNT`.
"""
