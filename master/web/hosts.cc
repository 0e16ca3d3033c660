#include "master/web/hosts.h"

#include <algorithm>
#include <cctype>

#include "master/web/topic.h"

namespace mr::web {
namespace {

// Returns the host of host[:port] in lower case. An IPv6 address keeps its brackets.
std::string HostOnly(std::string_view authority) {
  if (authority.starts_with('[')) {
    return InLowerCase(std::string(authority.substr(0, std::min(authority.find(']'), authority.size() - 1) + 1)));
  }
  return InLowerCase(std::string(authority.substr(0, authority.find(':'))));
}

// Names of hosts end with a word; the last part of a numeric address is a number.
bool IsNumeric(std::string_view host) {
  if (host.starts_with('[')) return host.ends_with(']');
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
  });
}

}  // namespace

Hosts::Hosts(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const size_t from = std::min(name.find_first_not_of(' '), name.size());
    names_.insert(HostOnly(name.substr(from, name.find_last_not_of(' ') + 1 - from)));
  }
  names_.erase("");
}

bool Hosts::Known(std::string_view authority) const {
  const std::string host = HostOnly(authority);
  return host == "localhost" || IsNumeric(host) || names_.contains(host);
}

Status Hosts::Check(std::string_view host, std::string_view origin, std::string_view fetch_site, bool navigates) const {
  if (!Known(host)) {
    return Rejected("this server is not known as '" + HostOnly(host) +
                    "'; if it is, start mrmaster with this name in --http_hosts");
  }
  if (!origin.empty()) {
    const size_t scheme = origin.find("://");
    const bool same = scheme != std::string_view::npos && HostOnly(origin.substr(scheme + 3)) == HostOnly(host);
    if (!same) return Rejected("a page of another site may not read this server");
  }
  if (!navigates && fetch_site == "cross-site") {
    return Rejected("a page of another site may not read this server");
  }
  return Status::Ok();
}

}  // namespace mr::web
