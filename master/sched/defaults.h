// Default lists of policies.
#pragma once

namespace mr::sched {

// The list of a master that is started without one (adr/0010).
inline constexpr char kDefaultPolicies[] =
    "fair,jockey,dolly(in_share=on),delay_assignment,"
    "opportunistic(attempts=3,tasks=150,worth=0.001,share=0.2),"
    "late(min_age=1s,skew_check=on,gain=2.5,estimator=phases),blacklist";

// Jobs in order of arrival, without speculative attempts, clones and sharing: the control in comparisons.
inline constexpr char kPlainPolicies[] = "fifo";

// A list as help texts show one.
inline constexpr char kExamplePolicies[] = "fair,late(cap=0.2)";

}  // namespace mr::sched
