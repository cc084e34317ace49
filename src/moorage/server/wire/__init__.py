"""What goes over the wire, as the OpenAPI description has it. Separate from the records where those hold what
is nobody's business, or what a person may not set. Bodies refuse fields they do not know.
"""
