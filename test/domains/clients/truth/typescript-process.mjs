/** Runs a TypeScript module of the tests in a process of its own: `fork(this, [module, …])`. Node 20 cannot read TypeScript. */
import { runnerImport } from 'vite';

await runnerImport(process.argv[2], { configFile: false, logLevel: 'error' });
