type Listener = () => void;

const listeners = new Set<Listener>();

/** Calls `listener` whenever the service refuses the session. Returns how to stop. */
export function onSessionRefused(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function announceSessionRefused(): void {
  for (const listener of listeners) listener();
}
