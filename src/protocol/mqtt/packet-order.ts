const LARGEST = 65_535;

/**
 * Recognizes by their packet identifiers messages that were received before, and counts the places where identifiers
 * are missing. Mosquitto numbers the messages of QoS 1 and 2 of a session one after the other, also those that it drops
 * because the queue of the session is full (`max_queued_messages`), or because they expire in it. With MQTT 3.1.1 it
 * also numbers copies that it does not send.
 */
export class PacketOrder {
  #last: number | null = null;
  gaps = 0;

  /** Returns whether the identifier is the last one or an earlier one. */
  received(id: number): boolean {
    const steps = this.#last === null ? 1 : (id - this.#last + LARGEST) % LARGEST;
    if (steps === 0 || steps > LARGEST / 2) return true;
    if (steps > 1) this.gaps += 1;
    this.#last = id;
    return false;
  }

  /** Call when a session begins, in which any identifier may be the first one. */
  begin(): void {
    this.#last = null;
  }
}
