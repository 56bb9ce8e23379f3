"""Files that runs left: kept under their digest beside the record, and shown in views, pages and issues."""
