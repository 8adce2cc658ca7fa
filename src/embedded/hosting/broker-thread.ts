import { Worker } from 'node:worker_threads';
import type { WorkerMessage } from '../worker-protocol.ts';
import type { BrokerHost, HostEnd, HostOptions } from './broker-host.ts';

/** Runs an embedded broker in a thread of this process. */
export function startBrokerThread({ workerUrl, options, maxHeapMegabytes, onMessage }: HostOptions): BrokerHost {
  const thread = new Worker(workerUrl, {
    name: `broker ${options.id}`,
    workerData: options,
    // It needs neither, and what the process was given may be secret or meant for the main thread.
    env: {},
    execArgv: [],
    // A small young generation keeps an idle broker small; measured throughput does not change.
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: 16 },
  });
  const ended = new Promise<HostEnd>((resolve) => {
    let reason = '';
    let stack = '';
    thread.on('error', (error) => {
      reason = error.message;
      stack = error.stack ?? '';
    });
    thread.once('exit', (code) => {
      resolve({ reason: reason || `the broker's thread ended with code ${code}`, output: '', stack });
    });
  });
  thread.on('message', (message: WorkerMessage) => onMessage(message));
  return {
    pid: null,
    ended,
    send: (message) => thread.postMessage(message),
    terminate: () => void thread.terminate(),
  };
}
