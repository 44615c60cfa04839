"""Several proxies with one Redis behind a load balancer, and clients that use them."""
