#!/bin/sh
# paceline-ready PORT [PATH]: exits with 0 if the daemon with this HTTP port answers PATH (/readyz) with 200. For health
# checks inside of a container: the certificate is not checked, since the port is on the container's own loopback.
set -eu
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${2:-/readyz}" |
  timeout 3 openssl s_client -quiet -connect "127.0.0.1:$1" 2>/dev/null | head -n 1 | grep -q ' 200 '
