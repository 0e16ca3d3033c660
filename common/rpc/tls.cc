#include "common/rpc/tls.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/text.h"
#include "common/secure/certificate.h"

namespace mr::rpc {
namespace {

// Returns why a handshake failed: KJ's own text, without the places in its source.
std::string ReasonOf(const kj::Exception& exception) {
  const kj::StringPtr text = exception.getDescription();
  return PrintableBytes(std::string_view(text.begin(), std::min<size_t>(text.size(), 200)));
}

bool Has(const kj::Exception& exception, std::string_view words) {
  const kj::StringPtr text = exception.getDescription();
  return std::string_view(text.begin(), text.size()).find(words) != std::string_view::npos;
}

Result<Encrypted> Authenticated(kj::AuthenticatedStream authenticated) {
  auto& identity = kj::downcast<kj::TlsPeerIdentity>(*authenticated.peerIdentity);
  std::string name;
  if (identity.hasCertificate()) {
    const kj::String common_name = identity.getCommonName();
    name.assign(common_name.begin(), common_name.size());
  }
  return Encrypted{kj::mv(authenticated.stream), kj::mv(name)};
}

Status ClientRefused(const kj::Exception& exception) {
  return Status(Code::kNotAllowed, "TLS failed: " + ReasonOf(exception));
}

Status ServerRefused(const kj::Exception& exception, const std::string& name) {
  if (exception.getType() == kj::Exception::Type::DISCONNECTED) {
    return Unavailable("the connection ended during the TLS handshake");
  }
  if (Has(exception, "not trusted") || Has(exception, "verify failed") || Has(exception, "ostname mismatch")) {
    return Status(Code::kNotAllowed, "the server does not prove that it is " + name + " of this cluster (" +
                                         ReasonOf(exception) +
                                         "): check the address, and that the certificate of the authority (ca.pem) is "
                                         "the one of this cluster");
  }
  return Status(Code::kNotAllowed, "no TLS with the server: " + ReasonOf(exception));
}

kj::StringPtr Ptr(const std::string& text) { return kj::StringPtr(text.data(), text.size()); }

kj::TlsContext::Options TlsOptionsFor(const kj::TlsCertificate& authority) {
  kj::TlsContext::Options options;
  options.useSystemTrustStore = false;
  options.trustedCertificates = kj::arrayPtr(&authority, 1);
  options.minVersion = kj::TlsVersion::TLS_1_2;  // the newest that KJ 0.9.2 can demand; 1.3 is negotiated
  return options;
}

}  // namespace

Result<std::shared_ptr<const Tls>> Tls::ForNode(const secure::NodeCredentials& credentials) {
  std::shared_ptr<Tls> tls(new Tls());
  tls->cluster_id_ = credentials.certificate.cluster_id;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&] {
                 const kj::TlsCertificate authority(Ptr(credentials.authority_pem));
                 const kj::TlsKeypair own{kj::TlsPrivateKey(Ptr(credentials.key_pem.Reveal())),
                                          kj::TlsCertificate(Ptr(credentials.certificate_pem))};
                 auto options = TlsOptionsFor(authority);
                 options.defaultKeypair = own;
                 tls->client_ = kj::heap<kj::TlsContext>(options);
                 tls->server_for_people_ = kj::heap<kj::TlsContext>(options);
                 options.verifyClients = true;
                 tls->server_for_nodes_ = kj::heap<kj::TlsContext>(options);
               })) {
    return InvalidArgument("cannot use the certificate of this node: " + ReasonOf(*exception));
  }
  return std::shared_ptr<const Tls>(std::move(tls));
}

Result<std::shared_ptr<const Tls>> Tls::ForPerson(const std::string& authority_pem) {
  MR_ASSIGN_OR_RETURN(const secure::Certificate ca, secure::ReadCertificate(authority_pem));
  if (!ca.authority) return InvalidArgument("the certificate of " + ca.common_name + " is not one of an authority");
  std::shared_ptr<Tls> tls(new Tls());
  tls->cluster_id_ = ca.cluster_id;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&] {
                 const kj::TlsCertificate authority(Ptr(authority_pem));
                 tls->client_ = kj::heap<kj::TlsContext>(TlsOptionsFor(authority));
               })) {
    return InvalidArgument("cannot use the certificate of the authority: " + ReasonOf(*exception));
  }
  return std::shared_ptr<const Tls>(std::move(tls));
}

// wrapServer and wrapClient are const in all but name: they make an SSL object of the context, which OpenSSL allows
// from any thread. KJ takes a peer identity of the network; ours is not used.
kj::Promise<Result<Encrypted>> Tls::Accept(kj::Own<kj::AsyncIoStream> stream, bool node) const {
  kj::TlsContext& context = const_cast<kj::TlsContext&>(node ? *server_for_nodes_ : *server_for_people_);
  return kj::evalNow([&] {
           return context.wrapServer(kj::AuthenticatedStream{kj::mv(stream), kj::UnknownPeerIdentity::newInstance()});
         })
      .then([](kj::AuthenticatedStream wrapped) { return Authenticated(kj::mv(wrapped)); },
            [](kj::Exception&& exception) { return Result<Encrypted>(ClientRefused(exception)); });
}

kj::Promise<Result<Encrypted>> Tls::Connect(kj::Own<kj::AsyncIoStream> stream, const std::string& name) const {
  kj::TlsContext& context = const_cast<kj::TlsContext&>(*client_);
  return kj::evalNow([&] {
           return context.wrapClient(kj::AuthenticatedStream{kj::mv(stream), kj::UnknownPeerIdentity::newInstance()},
                                     Ptr(name));
         })
      .then([](kj::AuthenticatedStream wrapped) { return Authenticated(kj::mv(wrapped)); },
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
