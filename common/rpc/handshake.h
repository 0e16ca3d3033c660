// The steps of a connection before Cap'n Proto: reading and writing of hello, credential and verdict, for both sides.
// Common to all: at most kHelloBytes, a frame header and kCredentialBytes of a peer are in memory. Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/rpc/credential.h"
#include "common/rpc/credentials.h"
#include "common/rpc/hello.h"
#include "common/rpc/socket_facts.h"

namespace mr::rpc {

// Reads the peer's hello. The first wrong byte of the magic ends it. Errors: those of DecodeHello. Exceptions: the
// stream's.
kj::Promise<Result<Hello>> ReadHello(kj::AsyncIoStream& stream);
kj::Promise<void> WriteHello(kj::AsyncIoStream& stream, const Hello& hello);
// Errors: those of CredentialLength and EntryVerdictLength. Exceptions: the stream's.
kj::Promise<Result<Credential>> ReadCredential(kj::AsyncIoStream& stream);
kj::Promise<Result<EntryVerdict>> ReadEntryVerdict(kj::AsyncIoStream& stream);
kj::Promise<void> WriteEntryVerdict(kj::AsyncIoStream& stream, const EntryVerdict& verdict);

// A connection whose server has let this process in.
struct Greeted {
  kj::Own<kj::AsyncIoStream> stream;
  Hello server;  // its reply
};
// Runs the client's side. address: of the server as the user named it, for errors. Errors: kUnavailable (closed, too
// many connections, another protocol), kRejected (another cluster), kNotAllowed (the server refuses this process or
// does not prove itself; the message says what to do). Exceptions: the stream's. Not limited in time.
kj::Promise<Result<Greeted>> Greet(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const std::string& address,
                                   std::shared_ptr<const Credentials> credentials);

}  // namespace mr::rpc
