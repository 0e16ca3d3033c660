# Run by cpack before it packs: writes the changelogs that Debian expects, and compresses them and the man pages without
# times, so that builds of a day are equal.
string(TIMESTAMP today "%a, %d %b %Y 00:00:00 +0000" UTC)
foreach(package client dev master worker)
  file(GLOB docs ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/paceline-${package})
  file(WRITE ${docs}/changelog "paceline (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed for users: /usr/share/doc/paceline-client/CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
endforeach()
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/*.1
  ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog)
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
