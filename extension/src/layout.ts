/** A layered layout: longest paths, dummy nodes on long edges, barycentre sweeps, then places that keep the order. */

export interface Box { width: number; height: number }
export interface Laid { x: number[]; y: number[]; edges: [number, number][][]; width: number; height: number }

const GAP_X = 18, GAP_Y = 34, DUMMY = 10, SWEEPS = 6;

/**
 * Centres of the boxes and the bends of the edges, in pixels. Edges go from a smaller to a larger index or the other
 * way round; those that would close a circle are turned, as far as ranks go.
 */
export function layOut(boxes: Box[], edges: [number, number][]): Laid {
  const count = boxes.length;
  const rank = ranks(count, edges);
  const width = boxes.map(box => box.width);
  const height: number[] = [];
  boxes.forEach((box, at) => { height[rank[at]] = Math.max(height[rank[at]] ?? 0, box.height); });

  // Long edges go through one dummy node a layer.
  const paths = edges.map(([from, to]) => {
    const [a, b] = rank[from] <= rank[to] ? [from, to] : [to, from];
    const path = [a];
    for (let layer = rank[a] + 1; layer < rank[b]; layer++) {
      rank.push(layer);
      width.push(DUMMY);
      path.push(rank.length - 1);
    }
    path.push(b);
    return path;
  });
  const above: number[][] = rank.map(() => []);
  const below: number[][] = rank.map(() => []);
  for (const path of paths) {
    for (let at = 1; at < path.length; at++) {
      above[path[at]].push(path[at - 1]);
      below[path[at - 1]].push(path[at]);
    }
  }
  const layers: number[][] = [];
  rank.forEach((layer, node) => (layers[layer] ??= []).push(node));
  for (let at = 0; at < layers.length; at++) layers[at] ??= [];
  order(layers, above, below);
  const x = places(layers, above, below, width);
  const y: number[] = [];
  let top = 0;
  layers.forEach((layer, at) => {
    for (const node of layer) y[node] = top + (height[at] ?? 0) / 2;
    top += (height[at] ?? 0) + GAP_Y;
  });
  const right = Math.max(0, ...x.map((one, at) => one + width[at] / 2));
  return {
    x: x.slice(0, count), y: y.slice(0, count), width: right, height: Math.max(0, top - GAP_Y),
    edges: paths.map((path, at) => {
      const points = path.map(node => [x[node], y[node]] as [number, number]);
      return rank[edges[at][0]] <= rank[edges[at][1]] ? points : points.reverse();
    })
  };
}

/** The longest way from a source to each node; a circle is opened at the first of its nodes, in the order of the list. */
function ranks(count: number, edges: [number, number][]): number[] {
  const rank = new Array<number>(count).fill(0);
  const waits = new Array<number>(count).fill(0);
  const next: number[][] = rank.map(() => []);
  const before: number[][] = rank.map(() => []);
  for (const [from, to] of edges) {
    if (from === to) continue;
    next[from].push(to);
    before[to].push(from);
    waits[to]++;
  }
  const ready = rank.map((_, node) => node).filter(node => !waits[node]);
  const done = new Uint8Array(count);
  for (let at = 0, first = 0; at < count; at++) {
    if (at === ready.length) {
      while (done[first]) first++;
      ready.push(first);
    }
    done[ready[at]] = 1;
    for (const to of next[ready[at]]) {
      if (done[to]) continue;
      rank[to] = Math.max(rank[to], rank[ready[at]] + 1);
      if (--waits[to] === 0) ready.push(to);
    }
  }
  // Sources move down to what they feed, so that constants stand near their use.
  for (let node = 0; node < count; node++) {
    if (!before[node].length && next[node].length) rank[node] = Math.max(0, Math.min(...next[node].map(to => rank[to])) - 1);
  }
  return rank;
}

function order(layers: number[][], above: number[][], below: number[][]): void {
  const place: number[] = [];
  const number = (layer: number[]) => layer.forEach((node, at) => { place[node] = at; });
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const sides = down ? above : below;
    const through = down ? layers : [...layers].reverse();
    for (const layer of through) {
      const weight = new Map(layer.map(node => {
        const near = sides[node];
        return [node, near.length ? near.reduce((sum, one) => sum + place[one], 0) / near.length : place[node]];
      }));
      layer.sort((a, b) => weight.get(a)! - weight.get(b)!);
      number(layer);
    }
  }
}

/** Each node as near to its neighbours as its layer's order lets it: an isotonic regression, layer by layer. */
function places(layers: number[][], above: number[][], below: number[][], width: number[]): number[] {
  const x: number[] = [];
  for (const layer of layers) {
    let left = 0;
    for (const node of layer) {
      x[node] = left + width[node] / 2;
      left += width[node] + GAP_X;
    }
  }
  for (let sweep = 0; sweep < 4; sweep++) {
    const through = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of through) {
      const offset: number[] = [];
      let left = 0;
      for (const node of layer) {
        offset.push(left + width[node] / 2);
        left += width[node] + GAP_X;
      }
      const wanted = layer.map((node, at) => {
        const near = [...above[node], ...below[node]];
        const middle = near.length ? near.reduce((sum, one) => sum + x[one], 0) / near.length : x[node];
        return middle - offset[at];
      });
      isotonic(wanted).forEach((one, at) => { x[layer[at]] = one + offset[at]; });
    }
  }
  const least = Math.min(...x.map((one, at) => one - width[at] / 2));
  return x.map(one => one - (Number.isFinite(least) ? least : 0));
}

/** The nearest list that never falls: neighbours that are out of order share their mean. */
export function isotonic(wanted: number[]): number[] {
  const sums: number[] = [], counts: number[] = [];
  for (const one of wanted) {
    sums.push(one);
    counts.push(1);
    while (sums.length > 1) {
      const last = sums.length - 1;
      if (sums[last - 1] / counts[last - 1] <= sums[last] / counts[last]) break;
      sums[last - 1] += sums.pop()!;
      counts[last - 1] += counts.pop()!;
    }
  }
  return sums.flatMap((sum, at) => new Array<number>(counts[at]).fill(sum / counts[at]));
}
