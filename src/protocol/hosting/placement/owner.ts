import { createHash } from 'node:crypto';

/**
 * The process that runs what is stored for a broker: each process decides equally, without asking another. When a
 * process joins or leaves, only brokers that it gets or loses move (rendezvous hashing). `null` without a process.
 */
export function ownerOf(brokerId: string, processes: readonly string[]): string | null {
  let owner: string | null = null;
  let most = '';
  for (const id of processes) {
    const score = createHash('sha256').update(`${id} ${brokerId}`).digest('hex');
    if (owner !== null && score <= most) continue;
    owner = id;
    most = score;
  }
  return owner;
}
