# What is installed where: `make install` and `make deb`.

# The plug-ins of MPI and ZeroMQ are packages of their own: the program needs neither.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS trainyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libtrainyard LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET trainyard_mpi)
  install(TARGETS trainyard_mpi COMPONENT mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/trainyard)
endif()
if(TARGET trainyard_zmq)
  install(TARGETS trainyard_zmq COMPONENT zmq LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/trainyard)
endif()

# Completion scripts and the man page come from the program's own tables. A program with
# sanitizers is not for installing.
if(NOT TY_SANITIZE)
  set(made ${CMAKE_BINARY_DIR}/share)
  add_custom_command(
    OUTPUT ${made}/trainyard.bash ${made}/_trainyard ${made}/trainyard.fish
      ${made}/trainyard.1 ${made}/system/trainyard.service ${made}/user/trainyard.service
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/system ${made}/user
    COMMAND trainyard completion bash > ${made}/trainyard.bash
    COMMAND trainyard completion zsh > ${made}/_trainyard
    COMMAND trainyard completion fish > ${made}/trainyard.fish
    COMMAND trainyard help --man > ${made}/trainyard.1
    COMMAND trainyard server install --scope system --print
      --program ${CMAKE_INSTALL_FULL_BINDIR}/trainyard > ${made}/system/trainyard.service
    COMMAND trainyard server install --scope user --print
      --program ${CMAKE_INSTALL_FULL_BINDIR}/trainyard > ${made}/user/trainyard.service
    DEPENDS trainyard
    COMMENT "Writing completion scripts and the man page")
  add_custom_target(ty_share ALL DEPENDS ${made}/trainyard.bash)
  install(FILES ${made}/trainyard.bash RENAME trainyard
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${made}/_trainyard
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${made}/trainyard.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES ${made}/trainyard.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  foreach(scope system user)
    install(FILES ${made}/${scope}/trainyard.service DESTINATION lib/systemd/${scope})
  endforeach()
endif()

foreach(page README.md CHANGELOG.md)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
install(DIRECTORY include/trainyard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES web/dist/LICENSES.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME console-licenses.txt)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Links named like other tools, in a directory that users put on PATH if they wish; those in
# compat/ of the build reach the program that was built.
file(STRINGS src/compat/fronts.def fronts REGEX "^FRONT[A-Z_]*\\(")
file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/compat)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/compat)
set(compat ${CMAKE_INSTALL_LIBDIR}/trainyard/compat)
file(RELATIVE_PATH target /${compat} /${CMAKE_INSTALL_BINDIR}/trainyard)
foreach(line ${fronts})
  string(REGEX REPLACE "^FRONT[A-Z_]*\\(([a-z_]+)[,)].*" "\\1" name "${line}")
  file(CREATE_LINK ../trainyard ${CMAKE_BINARY_DIR}/compat/${name} SYMBOLIC)
  # Made where they lead somewhere: in the build they would hang in the air.
  install(CODE "set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${compat}\")
    file(MAKE_DIRECTORY \"\${dir}\")
    file(CREATE_LINK ${target} \"\${dir}/${name}\" SYMBOLIC)")
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trainyard)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_CONTACT "Trainyard maintainers <maintainers@trainyard.invalid>")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"One native program for recommender models: it reads the configuration files of
 TorchEasyRec, NNI and PaddleRec and says exactly what is wrong with them.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME trainyard)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "trainyard-mpi, trainyard-zmq")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME trainyard-mpi)
set(CPACK_DEBIAN_MPI_DESCRIPTION "Ranks of trainyard over MPI")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "trainyard (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_ZMQ_PACKAGE_NAME trainyard-zmq)
set(CPACK_DEBIAN_ZMQ_DESCRIPTION "Parameter servers of trainyard over ZeroMQ")
set(CPACK_DEBIAN_ZMQ_PACKAGE_DEPENDS "trainyard (= ${PROJECT_VERSION})")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
