import type { TopList, TrafficWindow } from '../../../protocol/apis/clients/traffic-control.ts';
import { TopSketch } from './top-sketch.ts';

/** Names of which each part of the time has exact totals, if it has no more. */
const SIZE = 200;
export const STEP_MS = 10_000;
const STEPS = { MINUTE: 6, HOUR: 12 } as const;
/** Steps of the minute in one step of the hour. */
const STEPS_OF_HOUR = 30;

/** Totals of the last minute, in steps of ten seconds, and of the last hour, in steps of five minutes. */
export class TopWindow {
  #current = new TopSketch(SIZE);
  #currentOfHour = new TopSketch(SIZE);
  readonly #minute: TopSketch[] = [];
  readonly #hour: TopSketch[] = [];
  #steps = 0;

  add(name: string, count: number): void {
    this.#current.add(name, count);
  }

  /** Call it every STEP_MS. */
  step(): void {
    this.#currentOfHour.merge(this.#current);
    this.#minute.push(this.#current);
    this.#current = new TopSketch(SIZE);
    if (this.#minute.length > STEPS.MINUTE) this.#minute.shift();
    this.#steps += 1;
    if (this.#steps % STEPS_OF_HOUR !== 0) return;
    this.#hour.push(this.#currentOfHour);
    this.#currentOfHour = new TopSketch(SIZE);
    if (this.#hour.length > STEPS.HOUR) this.#hour.shift();
  }

  /** @param sinceStep milliseconds since the last call of `step` */
  top(last: TrafficWindow, count: number, sinceStep: number): TopList {
    const isMinute = last === 'MINUTE';
    const all = new TopSketch(SIZE);
    for (const sketch of isMinute ? this.#minute : [...this.#hour, this.#currentOfHour]) all.merge(sketch);
    all.merge(this.#current);
    const steps = isMinute ? this.#minute.length : this.#hour.length * STEPS_OF_HOUR + (this.#steps % STEPS_OF_HOUR);
    const to = Date.now();
    const { maxError, total } = all;
    return { entries: all.top(count), maxError, total, from: Math.round(to - steps * STEP_MS - sinceStep), to };
  }
}
