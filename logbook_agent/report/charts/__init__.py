"""Charts that a page draws: values, their JSON, and the script that draws them."""
