# One static library and one test program per room. src/rooms.toml is the table of rooms.

add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(muster_flags INTERFACE _GLIBCXX_ASSERTIONS
  MUSTER_VERSION="${PROJECT_VERSION}")
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wold-style-cast -Wnon-virtual-dtor -Werror
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)  # __FILE__ is the same in every clone, for ccache.
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(MUSTER_SANITIZE MATCHES thread)
    target_compile_options(muster_flags INTERFACE -Wno-tsan)  # Asio's fences, which tsan passes over.
  endif()
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES "address")
    # A position-independent program relocates, and so copies, the sanitizers' 440 MB of static data
    # in each process. The tests' hosts have less memory.
    target_link_options(muster_flags INTERFACE -no-pie)
  endif()
endif()
if(MUSTER_STATIC)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  # What they do, and what they cost: docs/decisions/0021-hardening.md.
  target_compile_options(muster_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
    -fstack-protector-strong -fstack-clash-protection)
  target_link_options(muster_flags INTERFACE -static-pie -Wl,-z,relro,-z,now,-z,noexecstack
    -Wl,--build-id=sha1)
endif()

# The rooms, each linked with the rooms that its files include. A forbidden include stops the build:
# the sources are read again whenever one of them changed.
macro(muster_rooms)
  file(GLOB_RECURSE sources ${CMAKE_SOURCE_DIR}/src/*.cc ${CMAKE_SOURCE_DIR}/src/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources}
    ${CMAKE_SOURCE_DIR}/src/rooms.toml ${CMAKE_SOURCE_DIR}/tools/rooms.py)
  execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/rooms.py --cmake
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/rooms.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${CMAKE_BINARY_DIR}/rooms.cmake)
endmacro()

# Sources in groups, each compiled as one file: MUSTER_UNITY says how large (tools/unity.py: which).
macro(muster_unity)
  if(MUSTER_UNITY)
    set(unity ${CMAKE_BINARY_DIR}/unity.cmake)
    execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/unity.py ${CMAKE_SOURCE_DIR}/src
      ${MUSTER_UNITY} OUTPUT_FILE ${unity} COMMAND_ERROR_IS_FATAL ANY)
    include(${unity})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      ${CMAKE_SOURCE_DIR}/tools/unity.py)
    set(CMAKE_UNITY_BUILD ON)
    set(CMAKE_UNITY_BUILD_MODE GROUP)
    # What a file's own namespace holds stays there, though the compiler no longer sees whose it is;
    # a name may be a constant of one file and a variable in another.
    target_compile_options(muster_flags INTERFACE -Wno-subobject-linkage -Wno-shadow)
  endif()
endmacro()

# `room` is a name, `folder` where it is below src/; its tests may need rooms that it does not.
function(muster_room room folder)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(muster_${room} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(muster_${room} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_link_libraries(muster_${room} ${visibility} muster_flags ${ARG_LIBS})
  set_property(GLOBAL APPEND PROPERTY muster_rooms muster_${room})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(muster_${room} ${visibility} muster_${dep})
  endforeach()
  if(tests)
    # Only files that read the source tree are told where it is: the others compile alike in every
    # checkout, so that a second one finds them in the compiler's cache.
    foreach(test ${tests})
      file(STRINGS ${test} reads_source REGEX "MUSTER_SOURCE_DIR" LIMIT_COUNT 1)
      if(reads_source)
        set_source_files_properties(${test} PROPERTIES
          COMPILE_DEFINITIONS MUSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      endif()
    endforeach()
    add_library(muster_${room}_tests OBJECT EXCLUDE_FROM_ALL ${tests})
    target_link_libraries(muster_${room}_tests PUBLIC muster_${room} doctest::doctest)
    foreach(dep ${ARG_TEST_DEPS})
      target_link_libraries(muster_${room}_tests PUBLIC muster_${dep})
    endforeach()
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      # Compiling the tests takes longer than running them, so they are not optimized.
      target_compile_options(muster_${room}_tests PRIVATE -O0 -U_FORTIFY_SOURCE)
    endif()
    muster_test(${room}_test muster_${room}_tests)
    set_property(GLOBAL APPEND PROPERTY muster_rooms_with_tests ${room})
  endif()
endfunction()

# `unit_tests`: the tests of every room in one program, which is linked once.
function(muster_unit_tests)
  get_property(rooms GLOBAL PROPERTY muster_rooms_with_tests)
  list(TRANSFORM rooms REPLACE "(.+)" "muster_\\1_tests")
  add_executable(unit_tests EXCLUDE_FROM_ALL)
  target_link_libraries(unit_tests PRIVATE ${rooms} muster_doctest)
endfunction()

# doctest and its main(), once for all test programs.
function(muster_doctest)
  add_library(muster_doctest OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/doctest_main.cc)
  target_link_libraries(muster_doctest PUBLIC muster_flags doctest::doctest)
endfunction()

function(muster_test name library)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${library} muster_doctest)
  set(properties TIMEOUT 120)
  if(name MATCHES "^(housing|steward)_test$")
    # Their containers, bridges and sweeps are the machine's: one at a time.
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  doctest_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES ${properties})
endfunction()

# `gate_programs`: all that `make run-unit` and `make run-sim` run.
function(muster_gate_programs)
  add_custom_target(gate_programs)
  get_property(replays GLOBAL PROPERTY muster_fuzz_replays)
  add_dependencies(gate_programs unit_tests sim_test engine_contract_test node_link_test ${replays})
endfunction()

# The program: src/main.cc and all rooms.
function(muster_program name)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/src/main.cc)
  get_property(rooms GLOBAL PROPERTY muster_rooms)
  target_link_libraries(${name} PRIVATE ${rooms})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  if(MUSTER_STATIC)
    # Symbols and line numbers lie beside what is shipped; a debugger finds them by the link.
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
      BYPRODUCTS ${CMAKE_BINARY_DIR}/${name}.debug
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug ${name} ${name}.debug
      COMMAND ${CMAKE_OBJCOPY} --strip-debug --add-gnu-debuglink=${name}.debug ${name})
  endif()
endfunction()

function(muster_sim_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/sim/*.cc)
  if(sources)
    muster_test(sim_test muster_calls ${sources})
    target_link_libraries(sim_test PRIVATE muster_jobs)
  endif()
endfunction()

# One contract over every engine: those that need nothing, and that of a cluster, which
# tests/e2e/test_slurm_contract.py runs on one, with the `sm` beside it on the nodes.
function(muster_engine_contract_test)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/engine/*.cc)
  set(on_cluster ${sources})
  list(FILTER sources EXCLUDE REGEX "/cluster_subject\\.cc$")
  muster_test(engine_contract_test "muster_local;muster_cluster" ${sources})
  list(FILTER on_cluster INCLUDE REGEX
    "_contract_test\\.cc$|/(cluster|steward|folder)?_?subject\\.cc$")
  add_executable(cluster_contract_test EXCLUDE_FROM_ALL ${on_cluster})
  target_link_libraries(cluster_contract_test PRIVATE muster_cluster muster_doctest)
  target_compile_definitions(cluster_contract_test PRIVATE MUSTER_CONTRACT_ON_CLUSTER)
  add_dependencies(cluster_contract_test sm)
endfunction()

# Both ends of the link of a cluster's nodes, the nodes being processes.
function(muster_node_link_test)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cluster/*.cc)
  list(FILTER sources EXCLUDE REGEX "/node_program\\.cc$")
  add_executable(node_program ${CMAKE_SOURCE_DIR}/tests/cluster/node_program.cc)
  target_link_libraries(node_program PRIVATE muster_node)
  muster_test(node_link_test muster_cluster ${sources})
  target_link_libraries(node_link_test PRIVATE muster_supervise)
  target_compile_definitions(node_link_test PRIVATE
    MUSTER_NODE_PROGRAM="$<TARGET_FILE:node_program>")
  add_dependencies(node_link_test node_program)
endfunction()

# The Python packages as one archive, which muster_container carries
# (src/container/python_packages.cc) and interpreters import from.
function(muster_python_packages)
  set(archive ${CMAKE_BINARY_DIR}/python.zip)
  set(folder ${CMAKE_SOURCE_DIR}/python/src)
  file(GLOB_RECURSE sources RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.py)
  list(TRANSFORM sources PREPEND ${folder}/ OUTPUT_VARIABLE depends)
  add_custom_command(OUTPUT ${archive} DEPENDS ${depends} VERBATIM WORKING_DIRECTORY ${folder}
    COMMAND ${CMAKE_COMMAND} -E tar cf ${archive} --format=zip --mtime=2020-01-01 -- ${sources})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/container/python_packages.cc PROPERTIES
    OBJECT_DEPENDS ${archive} COMPILE_DEFINITIONS MUSTER_PYTHON_PACKAGES="${archive}")
endfunction()

# The page of topics, which muster_base carries (src/base/topic.cc): what `sm explain` tells.
function(muster_topics)
  set(page ${CMAKE_SOURCE_DIR}/docs/users/troubleshooting.md)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/topic.cc PROPERTIES
    OBJECT_DEPENDS ${page} COMPILE_DEFINITIONS MUSTER_TROUBLESHOOTING="${page}")
endfunction()

# The web page's files, which muster_web carries (src/server/web/web_files.cc).
function(muster_web_files)
  set(folder ${CMAKE_SOURCE_DIR}/web)
  set(program ${CMAKE_SOURCE_DIR}/tools/pack_web.py)
  set(bytes ${CMAKE_BINARY_DIR}/web.bin)
  set(table ${CMAKE_BINARY_DIR}/web_table.inc)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js
    ${folder}/*.mjs ${folder}/*.svg)
  list(FILTER sources EXCLUDE REGEX "_test\\.js$")  # pack_web.py leaves unit tests out, too.
  add_custom_command(OUTPUT ${bytes} ${table} DEPENDS ${program} ${sources} VERBATIM
    COMMAND python3 ${program} ${folder} ${bytes} ${table})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/server/web/web_files.cc PROPERTIES
    OBJECT_DEPENDS "${bytes};${table}"
    COMPILE_DEFINITIONS "MUSTER_WEB_BYTES=\"${bytes}\";MUSTER_WEB_TABLE=\"${table}\"")
endfunction()

# libmuster-hostname.so, which muster_ranks carries (src/host/ranks/hostname_library.cc). It goes into
# other people's processes: it takes neither our flags nor a sanitizer, and no C library.
function(muster_hostname_library)
  set(source ${CMAKE_SOURCE_DIR}/src/host/hostname/hostname.cc)
  set(library ${CMAKE_BINARY_DIR}/libmuster-hostname.so)
  add_custom_command(OUTPUT ${library} DEPENDS ${source} VERBATIM
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O2 -Wall -Wextra -Werror -ffreestanding
      -fno-exceptions -fno-asynchronous-unwind-tables -fno-stack-protector -fvisibility=hidden
      -fPIC -shared -nostdlib -s -Wl,--hash-style=both -Wl,--build-id=none -Wl,-z,now
      -Wl,-z,noexecstack -Wl,-z,noseparate-code -Wl,-soname,libmuster-hostname.so
      -o ${library} ${source})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/host/ranks/hostname_library.cc PROPERTIES
    OBJECT_DEPENDS ${library} COMPILE_DEFINITIONS MUSTER_HOSTNAME_LIBRARY="${library}")
endfunction()
