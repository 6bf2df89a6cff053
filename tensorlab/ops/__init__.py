"""The operators, one family per file. Each op is one block: scalar body, loop, declaration, derivative, public function."""
