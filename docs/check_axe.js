// Asks axe-core for the violations of some rule sets on the page: returns one sentence for each.
// Contrast is judged in any case; without rule sets nothing else is.
//
// Axe takes minutes on a page with thousands of coloured words, so it is spared what cannot differ.
// Listings become plain text and set formulas empty boxes of the same size: check_pages.js has
// judged their colours.  And contrast is judged on one text of each look: colour, size, weight and
// everything that is painted behind it.
async (tags) => {
  for (const listing of document.querySelectorAll('.highlight pre')) {
    listing.textContent = listing.textContent;
  }
  for (const formula of document.querySelectorAll('mjx-container > mjx-math')) {
    const {width, height} = formula.getBoundingClientRect();
    const box = document.createElement('span');
    box.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
    formula.replaceWith(box);
  }

  const behind = new Map();  // element: what is painted behind its text
  const ground = element => {
    if (!element) return '';
    if (!behind.has(element)) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(element);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      const isClear = own === 'rgba(0, 0, 0, 0) none 1';
      behind.set(element, ground(element.parentElement) + (isClear ? '' : ` ${own}`));
    }
    return behind.get(element);
  };
  const looks = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || element.closest('script, style, svg')) continue;
    if (!element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const {color, fontSize, fontWeight, textShadow} = getComputedStyle(element);
    const look = [color, fontSize, fontWeight, textShadow, ground(element)].join('|');
    if (!looks.has(look)) looks.set(look, element);
  }

  const options = {resultTypes: ['violations'], preload: false};
  const contrast = 'color-contrast';
  const runs = [
    await axe.run({include: [...looks.values()]}, {
      ...options, runOnly: {type: 'rule', values: [contrast]},
    }),
  ];
  if (tags.length) {
    runs.push(await axe.run(document, {
      ...options, runOnly: {type: 'tag', values: tags}, rules: {[contrast]: {enabled: false}},
    }));
  }
  return runs.flatMap(run => run.violations).flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.target.join(' ')}: ${node.html.slice(0, 100)}`));
}
