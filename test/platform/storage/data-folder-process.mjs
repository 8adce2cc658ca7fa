/** Opens a data folder: `node data-folder-process.mjs <folder>`. Prints the fields of each warning as JSON. */
import { openDataFolder } from '../../../src/platform/storage/folder/data-folder.ts';

const [folder] = process.argv.slice(2);
openDataFolder(folder, { warn: (fields) => console.log(JSON.stringify(fields)) }).close();
