# Writes a source file with the texts of two files: cmake -DOUT=... -DGRID=... -DCALIBRATED=... -P embed.cmake
file(READ ${GRID} grid)
file(READ ${CALIBRATED} calibrated)
file(WRITE ${OUT} "// Generated from grid.toml and calibrated.toml.
#include \"master/sim/grid/cell.h\"

namespace mr::sim {

GridFiles BuiltInGrid() {
  return {R\"grid(${grid})grid\",
R\"grid(${calibrated})grid\"};
}

}  // namespace mr::sim
")
