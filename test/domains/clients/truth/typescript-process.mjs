/** Runs a TypeScript module of the tests in a process: `fork(this, [module, …])`. Node 20 cannot load TypeScript. */
import { runnerImport } from 'vite';

await runnerImport(process.argv[2], { configFile: false, logLevel: 'error' });
