@0xb6a1f0c4d1e8a3f7;
# How workers get and keep their certificates: from a master that has the cluster's authority. The bootstrap of
# connections with the hello role join. Such a connection has proved a join token, which serves once, or a worker's
# certificate.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Outcome = import "common.capnp".Outcome;
using import "access.capnp".access;

interface Join {
  sign @0 (name :Text, request :Text) -> (outcome :Outcome, certificate :Text, authority :Text, tokenKey :Text)
      $access(roles = [joiner, worker], object = worker, changes = true);
  # Signs a certificate "worker:<name>" for the key that has signed the request (PKCS#10, PEM). With a certificate: for
  # its own name only. A join token is used up by success. certificate and authority: PEM. tokenKey: the public key that
  # checks tokens of people, PEM.
  changes @1 (seen :UInt64) -> (version :UInt64, revoked :List(Text), denied :List(Text))
      $access(roles = [worker]);
  # Tokens and workers that are no longer accepted, as soon as the list is another one than that of version `seen`, else
  # after half a minute. seen: 0 = none yet. With a certificate only.
}
