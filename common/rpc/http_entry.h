// Decides who may read a daemon's HTTP port: the same people as on its RPC port, by the same authenticators
// (common/adr/0016, 0017). Only the way differs in which a credential arrives: in a header.
#pragma once

#include <memory>
#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/entry_options.h"

namespace mr::rpc {

// Returns the authenticator of the HTTP port beside that of the RPC port. A daemon without certificates has a secret
// for this port alone, in a file of its own: whoever is given it reads pages, and can call nothing. With a secret from
// a descriptor there is no such file, and nobody has the secret. Errors: kInvalidArgument, kInternal.
Result<std::shared_ptr<Authenticator>> MakeHttpAuthenticator(const EntryOptions& options,
                                                             std::shared_ptr<Authenticator> rpc_port);

// Returns the identity that the value of a header Authorization proves: "Bearer TOKEN", a person's token, or the
// secret of this port as 64 hexadecimal digits (`client` in its file). Its roles are those of people. Everybody is
// admitted where the daemon is insecure. header: null: absent. Errors: kNotAllowed, with a text that any peer may read.
Result<Authenticator::Admitted> AdmitBearer(Authenticator& entry, const Secret<std::string>* header);

// Returns the value of that header for the HTTP port at this numeric address ("127.0.0.1:7080"), from the secret file
// that its daemon wrote for this user. directory: as for SecretDirectory(). Errors: those of ReadSecretFile.
Result<Secret<std::string>> BearerFor(const std::string& address, const std::string& directory = "");

}  // namespace mr::rpc
