// Default lists of policies, and lists that have a name (named_lists.h).
#pragma once

namespace mr::sched {

// The list of a master that is started without one (adr/0010).
inline constexpr char kDefaultPolicies[] =
    "fair,jockey,dolly(in_share=on,share=0.1,network=on),delay_assignment,"
    "opportunistic(attempts=3,tasks=150,worth=0.001,share=0.12,network=on),"
    "mantri_restart(samples=finished,gamma=1,margin=2,pace=hopeful,outpaced=off,own_slot=on,network=on),"
    "late(min_age=1s,cap=0.06,skew_check=on,gain=1,worth=0.25,outpaced=0.8,estimator=phases,network=on),blacklist";

// The default list without clones, for clusters on which idle slots cost something.
inline constexpr char kCautiousPolicies[] =
    "fair,jockey,mantri_restart(samples=finished,gamma=1,margin=2,pace=hopeful,outpaced=off,own_slot=on,network=on),"
    "late(min_age=1s,cap=0.06,skew_check=on,gain=1,worth=0.25,outpaced=0.8,estimator=phases,network=on),blacklist";

// Jobs in order of arrival, without speculative attempts, clones and sharing: the control in comparisons.
inline constexpr char kPlainPolicies[] = "fifo";

// The lists with which the papers are reproduced (master/sim/studies), and their names.
inline constexpr char kDollyPaperName[] = "paper-dolly", kLatePaperName[] = "paper-late";
inline constexpr char kMantriPaperName[] = "paper-mantri", kCouplingPaperName[] = "paper-coupling";
inline constexpr char kJockeyPaperName[] = "paper-jockey";
inline constexpr char kDollyPaper[] = "fair,dolly,delay_assignment,late,blacklist";
inline constexpr char kLatePaper[] = "fifo,late";
inline constexpr char kMantriPaper[] = "fair,mantri,blacklist";
inline constexpr char kCouplingPaper[] = "fair(reduces=greedy),coupling(clock=paper)";
inline constexpr char kJockeyPaper[] = "fair(spare=last,guarantee_timeout=1),jockey,dryad_speculation";

// A list as help texts show one.
inline constexpr char kExamplePolicies[] = "fair,late(cap=0.2)";

}  // namespace mr::sched
