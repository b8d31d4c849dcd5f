/** Small repeatable generator (mulberry32): a failing seed fails again. Gives whole numbers from 0 to below `below`. */
export type Pick = (below: number) => number;

export function generator(seed: number): Pick {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}
