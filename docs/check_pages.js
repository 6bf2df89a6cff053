// What check_pages.py asks of each page: returns one sentence for everything wrong with it.
() => {
  const LEAST_CONTRAST = 4.5;
  const problems = [];
  const page = document.documentElement;
  const describe = element => `${element.tagName.toLowerCase()}.${element.className}`;

  if (page.scrollWidth > page.clientWidth) {
    const wide = [...document.querySelectorAll('main *')]
      .filter(element => element.getBoundingClientRect().right > page.clientWidth + 1);
    problems.push(`scrolls sideways: ${page.scrollWidth} pixels on ${page.clientWidth}: ` +
                  wide.slice(0, 3).map(describe).join(', '));
  }

  for (const element of document.querySelectorAll('.math')) {
    if (!element.querySelector('mjx-container')) {
      problems.push(`maths not set: ${element.textContent.slice(0, 40)}`);
    }
  }

  // A colour in any notation becomes four numbers by being painted.
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const paint = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  // Relative luminance, WCAG 2.2.
  const luminance = colour => {
    const [red, green, blue] = colour.slice(0, 3).map(value => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = element => {
    for (let up = element; up; up = up.parentElement) {
      const colour = paint(getComputedStyle(up).backgroundColor);
      if (colour[3] > 240) return colour;
    }
    return [255, 255, 255, 255];
  };
  const reported = new Set();
  const texts = document.createTreeWalker(
    document.querySelector('.bd-main') || document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const words = texts.currentNode.textContent.trim();
    const element = texts.currentNode.parentElement;
    if (!words || element.closest('svg, mjx-container, script, style, .headerlink')) continue;
    if (reported.has(describe(element)) || !element.checkVisibility({checkOpacity: true})) continue;
    const text = luminance(paint(getComputedStyle(element).color));
    const ground = luminance(backgroundOf(element));
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (ratio < LEAST_CONTRAST) {
      reported.add(describe(element));
      problems.push(`contrast ${ratio.toFixed(1)}:1: ${describe(element)} "${words.slice(0, 20)}"`);
    }
  }
  return problems;
}
