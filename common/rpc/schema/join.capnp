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
  # its own name only. A join token is used up by success. certificate: PEM. authority: the file ca.pem (one
  # certificate, three while the authority is rotated). tokenKey: the public keys that check tokens of people, PEM.
  changes @1 (seen :UInt64, seenTrust :Text) -> (version :UInt64, revoked :List(Text), denied :List(Text), trust :Text)
      $access(roles = [worker]);
  # Tokens and workers that are no longer accepted, and what the master trusts, as soon as either is not what was seen,
  # else after half a minute. seen, seenTrust: of the last answer; 0 and "" = none yet. A worker that trusts something
  # else than `trust` asks for a new certificate, which brings it. With a certificate only.
}
