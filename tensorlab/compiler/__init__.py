"""tensorlab.compile: capture, passes, code generation and the plan that runs."""
