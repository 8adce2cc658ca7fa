import type { Hosting } from './hosting.ts';

interface Closable {
  close(): unknown;
}

/** A part of the service that hosts plugins: what uses them, their hosting, and the worker thread that runs them. */
export abstract class HostedPart<Service extends Closable> {
  abstract readonly service: Service;
  protected abstract readonly hosting: Hosting;
  protected abstract readonly thread: Closable;

  start(): Promise<void> {
    return this.hosting.start();
  }

  /** Whether something stored for the broker runs in this process. */
  runs(brokerId: string): boolean {
    return this.hosting.runs(brokerId);
  }

  /** Whether something stored for the broker will run in this process, but does not yet. */
  isPending(brokerId: string): boolean {
    return this.hosting.isPending(brokerId);
  }

  async close(): Promise<void> {
    this.service.close();
    await this.hosting.close();
    await this.thread.close();
  }
}
