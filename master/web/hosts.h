// Which requests a browser may have been talked into by a page of somebody else. A page of another site may point its
// own host name at this address (DNS rebinding), or ask across sites; neither may read the master.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::web {

class Hosts {
 public:
  // names: host names under which people reach this server beside localhost and numeric addresses. Spaces around them
  // and ports are ignored.
  explicit Hosts(const std::set<std::string>& names);

  // Errors: kRejected: the Host header has an unknown name, or the request comes from a page of another site.
  // navigates: the request may be a link that was followed, so that a page of another site may lead here. Empty: header
  // absent.
  Status Check(std::string_view host, std::string_view origin, std::string_view fetch_site, bool navigates) const;

 private:
  bool Known(std::string_view host) const;
  std::set<std::string> names_;  // in lower case
};

}  // namespace mr::web
