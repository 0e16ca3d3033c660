#include "common/rpc/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/rpc/tls_stream.h"
#include "common/secure/authority.h"
#include "common/secure/certificate.h"

namespace mr::rpc {
namespace {

using ContextPtr = std::shared_ptr<SSL_CTX>;
using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

BioPtr ReadingFrom(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free_all};
}

// Returns why a handshake failed, without the places in KJ's source.
std::string ReasonOf(const kj::Exception& exception) {
  const kj::StringPtr text = exception.getDescription();
  return PrintableBytes(std::string_view(text.begin(), std::min<size_t>(text.size(), 200)));
}

bool Has(const kj::Exception& exception, std::string_view words) {
  const kj::StringPtr text = exception.getDescription();
  return std::string_view(text.begin(), text.size()).find(words) != std::string_view::npos;
}

Status ClientRefused(const kj::Exception& exception) {
  return Status(Code::kNotAllowed, "TLS failed: " + ReasonOf(exception));
}

Status ServerRefused(const kj::Exception& exception, const std::string& name) {
  if (exception.getType() == kj::Exception::Type::DISCONNECTED) {
    return Unavailable("the connection ended during the TLS handshake");
  }
  if (Has(exception, "verify failed")) {
    return Status(Code::kNotAllowed, "the server does not prove that it is " + name + " of this cluster (" +
                                         ReasonOf(exception) +
                                         "): check the address, and that the certificate of the authority (ca.pem) is "
                                         "the one of this cluster");
  }
  return Status(Code::kNotAllowed, "no TLS with the server: " + ReasonOf(exception));
}

// Reads the certificates in a text. Errors: kInvalidArgument: there is none.
Result<std::vector<std::shared_ptr<X509>>> CertificatesIn(const std::string& pem) {
  const BioPtr in = ReadingFrom(pem);
  std::vector<std::shared_ptr<X509>> all;
  while (X509* one = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)) all.emplace_back(one, &X509_free);
  ERR_clear_error();  // of the text's end
  if (all.empty()) return InvalidArgument("there is no certificate in it");
  return all;
}

// Makes a context that trusts these authorities only. Errors: kInvalidArgument.
Result<ContextPtr> ContextFor(const std::string& authorities, bool server) {
  const ContextPtr context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return Internal("there is no memory for TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  // Idle connections keep no buffers. Sessions are not resumed: each connection checks the certificates anew.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  MR_ASSIGN_OR_RETURN(const auto trusted, CertificatesIn(authorities));
  for (const auto& authority : trusted) {
    if (X509_check_ca(authority.get()) == 0) return InvalidArgument("a certificate in it is not one of an authority");
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.get());
  }
  if (!server) SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

// Gives a context the certificate of this node, with the others that follow in the text. Errors: kInvalidArgument.
Status UseOwn(SSL_CTX* context, const std::string& chain, const Secret<std::string>& key_pem) {
  MR_ASSIGN_OR_RETURN(const auto certificates, CertificatesIn(chain));
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const BioPtr in = ReadingFrom(key_pem.Reveal());
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  bool used = key != nullptr && SSL_CTX_use_certificate(context, certificates.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  for (size_t i = 1; i < certificates.size(); ++i) {
    used = used && SSL_CTX_add1_chain_cert(context, certificates[i].get()) == 1;
  }
  ERR_clear_error();
  return used ? Status::Ok() : InvalidArgument("its key is none, or not that of the certificate");
}

Result<ContextPtr> NodeContext(const secure::NodeCredentials& credentials, const secure::Authority& authority,
                               bool server) {
  // While the authority is rotated, both are trusted. The cross certificate is for peers that trust only the previous
  // one; others find the new one among those that they trust.
  MR_ASSIGN_OR_RETURN(ContextPtr context, ContextFor(authority.current + authority.previous, server));
  const std::string chain = credentials.certificate_pem + (credentials.previous ? "" : authority.cross);
  MR_RETURN_IF_ERROR(UseOwn(context.get(), chain, credentials.key_pem));
  return context;
}

// Does the handshake. Exceptions: those of TlsStream.
kj::Promise<Encrypted> Shaken(kj::Own<kj::AsyncIoStream> below, SslPtr ssl) {
  auto stream = kj::heap<TlsStream>(kj::mv(below), std::move(ssl));
  TlsStream& s = *stream;
  return s.Shake().then([stream = kj::mv(stream)]() mutable {
    std::string name = stream->PeerName();
    return Encrypted{kj::mv(stream), std::move(name)};
  });
}

}  // namespace

Result<std::shared_ptr<const Tls>> Tls::ForNode(const secure::NodeCredentials& credentials) {
  std::shared_ptr<Tls> tls(new Tls());
  tls->cluster_id_ = credentials.certificate.cluster_id;
  const std::string what = "cannot use the certificate of this node";
  const auto authority = secure::ReadAuthority(credentials.authority_pem);
  if (!authority.ok()) return authority.status().With(what);
  for (auto* context : {&tls->client_, &tls->server_for_people_, &tls->server_for_nodes_}) {
    auto made = NodeContext(credentials, *authority, context != &tls->client_);
    if (!made.ok()) return made.status().With(what);
    *context = *std::move(made);
  }
  SSL_CTX_set_verify(tls->server_for_nodes_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return std::shared_ptr<const Tls>(std::move(tls));
}

Result<std::shared_ptr<const Tls>> Tls::ForPerson(const std::string& authority_pem, uint64_t cluster_id) {
  std::shared_ptr<Tls> tls(new Tls());
  tls->cluster_id_ = cluster_id;
  MR_ASSIGN_OR_RETURN(tls->client_, ContextFor(authority_pem, /*server=*/false));
  return std::shared_ptr<const Tls>(std::move(tls));
}

kj::Promise<Result<Encrypted>> Tls::Accept(kj::Own<kj::AsyncIoStream> stream, bool node) const {
  SslPtr ssl(SSL_new((node ? server_for_nodes_ : server_for_people_).get()));
  SSL_set_accept_state(ssl.get());
  return Shaken(kj::mv(stream), std::move(ssl))
      .then([](Encrypted made) { return Result<Encrypted>(kj::mv(made)); },
            [](kj::Exception&& exception) { return Result<Encrypted>(ClientRefused(exception)); });
}

kj::Promise<Result<Encrypted>> Tls::Connect(kj::Own<kj::AsyncIoStream> stream, const std::string& name) const {
  SslPtr ssl(SSL_new(client_.get()));
  SSL_set_connect_state(ssl.get());
  SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  SSL_set1_host(ssl.get(), name.c_str());
  return Shaken(kj::mv(stream), std::move(ssl))
      .then([](Encrypted made) { return Result<Encrypted>(kj::mv(made)); },
            [name](kj::Exception&& exception) { return Result<Encrypted>(ServerRefused(exception, name)); });
}

bool IsCertificateAlert(const kj::Exception& exception) {
  if (!Has(exception, "alert")) return false;
  for (const std::string_view words : {"certificate", "unknown ca", "handshake failure"}) {
    if (Has(exception, words)) return true;
  }
  return false;
}

}  // namespace mr::rpc
