# ty_console(OUT)   a C source with the files of web/dist, compressed
#
# The page names app.js and app.css; here they get names that change with their content, so
# that browsers may keep them for good. Nothing but CMake is needed: web/dist is committed.

# One array of bytes: `text` for the source, the size of what was packed in `n`.
function(ty_console_bytes file name text)
  set(zip ${CMAKE_CURRENT_BINARY_DIR}/console/${name}.gz)
  file(ARCHIVE_CREATE OUTPUT ${zip} PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9 MTIME 0)
  file(READ ${zip} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REPEAT "." 80 line) # sixteen of them
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  set(${text} "static const unsigned char ${name}_bytes[] = {\n${bytes}};\n" PARENT_SCOPE)
endfunction()

function(ty_console out)
  set(dist ${CMAKE_SOURCE_DIR}/web/dist)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/console)
  file(MAKE_DIRECTORY ${dir})
  file(READ ${dist}/index.html page)
  set(arrays)
  set(rows)
  foreach(kind js css)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dist}/app.${kind})
    file(SHA256 ${dist}/app.${kind} hash)
    file(SIZE ${dist}/app.${kind} size)
    string(SUBSTRING ${hash} 0 12 short)
    string(REPLACE "app.${kind}" "assets/app-${short}.${kind}" page "${page}")
    ty_console_bytes(${dist}/app.${kind} ${kind} array)
    if(kind STREQUAL js)
      set(type javascript)
    else()
      set(type css)
    endif()
    string(APPEND arrays "${array}")
    string(APPEND rows "    {\"app-${short}.${kind}\", \"text/${type}; charset=utf-8\", \"${short}\", ${kind}_bytes, sizeof(${kind}_bytes), ${size}},\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dist}/index.html)
  file(CONFIGURE OUTPUT ${dir}/index.html CONTENT "${page}" @ONLY)
  file(SHA256 ${dir}/index.html hash)
  file(SIZE ${dir}/index.html size)
  string(SUBSTRING ${hash} 0 12 short)
  ty_console_bytes(${dir}/index.html page array)
  string(APPEND arrays "${array}")
  file(CONFIGURE OUTPUT ${dir}/assets_data.c @ONLY CONTENT
"/* Made from web/dist by cmake/TrainyardConsole.cmake. */
#include \"http/assets.h\"
${arrays}
const struct http_asset http_assets_all[] = {
    {\"index.html\", \"text/html; charset=utf-8\", \"${short}\", page_bytes, sizeof(page_bytes), ${size}},
${rows}    {0},
};
")
  set(${out} ${dir}/assets_data.c PARENT_SCOPE)
endfunction()
