// A dashboard's page: the grid, its undo, kiosk.
import { page } from "../live/main.js";
import { Grid } from "./grid.js";
import { startKiosk } from "./kiosk.js";
import { Undo } from "./undo.js";

const board = document.getElementById("board");
const undo = new Undo();
if (board) new Grid(board, { page, undo });
startKiosk();
